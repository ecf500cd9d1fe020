"""WebDAV and CalDAV over our own fetch room: what is asked, and what the answers mean."""
