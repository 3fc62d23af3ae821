"""Pure accounting: frames and assumptions in, results out."""
