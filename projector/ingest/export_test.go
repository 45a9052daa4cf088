package ingest

// PortionSize returns how many of the items are applied together.
func PortionSize(items []Decoded) int { return portionSize(items) }
