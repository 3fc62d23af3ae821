"""`rigledger init`: from questions or flags to a settings file, and to units for systemd."""
