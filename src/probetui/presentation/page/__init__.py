"""A session as a page: HTML with pictures in SVG."""
