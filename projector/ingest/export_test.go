package ingest

// PortionSize returns how many of the items are applied together.
func PortionSize(items []Item) int { return portionSize(items) }
