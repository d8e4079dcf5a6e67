"""Wiring Trail Boss into other programs' files, and out of them again, byte for byte."""
