"""Shows of followed artists: who is meant, what each provider lists, what is the same show, what is near home."""
