"""Cases that nobody wrote: drawn at random, asked, and kept where they show something new."""
