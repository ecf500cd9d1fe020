"""Mail: who really wrote it and whether it matters, from its headers alone; a body is never asked for."""
