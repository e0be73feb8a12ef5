"""Tests of images that probetui pulled."""
