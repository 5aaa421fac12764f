// Filled with the stream waist.
