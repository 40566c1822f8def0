from tests.support.conda_fixtures import channel, folder

__all__ = ["channel", "folder"]
