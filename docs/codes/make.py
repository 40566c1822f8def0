"""Write what is said under each code of the product, and the pages of all codes here: python docs/codes/make.py"""

import json
from pathlib import Path

from scan import scan

import provision.messages
from provision.diagnosing.pages import all_codes, index, markdown

here = Path(__file__).parent
listed = Path(provision.messages.__file__).parent / "codes.json"
listed.write_text(json.dumps(scan(), indent=1) + "\n", encoding="utf-8", newline="\n")
for old in here.glob("*.md"):
    old.unlink()
for code in all_codes():
    (here / f"{code}.md").write_text(markdown(code), encoding="utf-8", newline="\n")
(here / "README.md").write_text(index(), encoding="utf-8", newline="\n")
