"""Write the pages of all finding codes beside this file: python docs/codes/make.py"""

from pathlib import Path

from provision.diagnosing.pages import all_codes, index, markdown

here = Path(__file__).parent
for old in here.glob("*.md"):
    old.unlink()
for code in all_codes():
    (here / f"{code}.md").write_text(markdown(code), encoding="utf-8", newline="\n")
(here / "README.md").write_text(index(), encoding="utf-8", newline="\n")
