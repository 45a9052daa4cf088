package ingest

// CountFitting returns how many of the messages are applied together.
func CountFitting(messages []Decoded) int { return countFitting(messages) }
