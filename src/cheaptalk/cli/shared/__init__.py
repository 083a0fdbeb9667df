"""What commands share: options, looking studies up, printing, sentences and progress."""
