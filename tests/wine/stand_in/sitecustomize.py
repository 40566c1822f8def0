"""Junctions for a Wine that has none (before 10.19): symbolic links of the system below, made and read by its own tools.

Wine shows such a link as a folder, goes through it, and says nothing of it; so the four calls of Python that are asked of
junctions are answered here. Faithful in what the caller sees: a junction is a folder with a reparse tag, `readlink` gives
`\\\\?\\C:\\...`, `rmdir` takes the junction and not what it shows to, and nothing replaces it by rename. What Windows itself
does with a junction is not shown by this.
"""

import os

if os.environ.get("PROVISION_STAND_IN") and os.name == "nt":
    import _winapi
    import nt
    import shutil
    import subprocess
    import time

    _lstat, _readlink, _replace = os.lstat, os.readlink, os.replace
    _rmdir, _unlink, _isdir = os.rmdir, os.unlink, shutil._rmtree_isdir
    _TAG, _REPARSE = 0xA0000003, 0x400

    def _host(command, done, *paths):
        """Have the system below run a command. Wine gives no handle to wait for it, so its effect is waited for."""
        words = subprocess.list2cmdline(["Z:\\bin\\sh", "-c", command, "sh", *map(_below, paths)])
        _winapi.CreateProcess(None, words, None, None, False, 0, None, None, None)
        end = time.monotonic() + 10
        while not done():
            if time.monotonic() > end:
                raise PermissionError(13, "Access is denied", paths[-1])
            time.sleep(0.005)

    def _below(path):
        """A path as the system below names it, its last part not followed."""
        path = os.path.abspath(path).replace("\\\\?\\", "", 1)
        drive, rest = os.path.splitdrive(path)
        top = "" if drive.upper() == "Z:" else os.environ["WINEPREFIX"] + "/dosdevices/" + drive.lower()
        return top + rest.replace("\\", "/")

    def _shows(path):
        """Where a link of the system below leads, as Windows' own calls resolve it; None for what is no link."""
        path = os.path.abspath(path)
        try:
            found = nt._getfinalpathname(path)
            parent = nt._getfinalpathname(os.path.dirname(path))
        except OSError:
            return None
        plain = os.path.normcase(os.path.join(parent, os.path.basename(path)))
        return None if os.path.normcase(found) == plain else found

    def create_junction(source, destination):
        if _there(destination):
            raise FileExistsError(17, "File exists", destination)
        _host('ln -sTn "$1" "$2"', lambda: _there(destination), source, destination)

    def _there(path):
        return os.path.basename(path) in os.listdir(os.path.dirname(os.path.abspath(path)))

    def lstat(path, *, dir_fd=None):
        found = _lstat(path)
        if not found.st_file_attributes & 0x10 or _shows(path) is None:
            return found
        more = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
        more.update(st_reparse_tag=_TAG, st_file_attributes=found.st_file_attributes | _REPARSE)
        return os.stat_result(tuple(found), more)

    def readlink(path, *, dir_fd=None):
        shown = _shows(path)
        if shown is None:
            return _readlink(path)
        return shown

    def rmdir(path, *, dir_fd=None):
        if _shows(path) is None:
            _rmdir(path)
        else:
            _host('rm "$1"', lambda: not _there(path), path)

    def replace(source, destination, **more):
        """A junction itself moves; onto one nothing moves, as onto any folder of Windows."""
        if os.path.isdir(destination):
            raise PermissionError(13, "Access is denied", source)
        if _shows(source) is None:
            _replace(source, destination)
        else:
            _host('mv -T "$1" "$2"', lambda: _there(destination) and not _there(source), source, destination)

    def unlink(path, *, dir_fd=None):
        (_unlink if _shows(path) is None else rmdir)(path)

    def isdir(entry):
        """What `shutil.rmtree` asks of what it finds; the tag that it looks for comes from below Python."""
        return _isdir(entry) and _shows(entry.path) is None

    _winapi.CreateJunction, shutil._rmtree_isdir, os.unlink = create_junction, isdir, unlink
    os.lstat, os.readlink, os.rmdir, os.replace = lstat, readlink, rmdir, replace
