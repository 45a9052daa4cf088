package ingest

// PortionSize is how many of the items are applied together.
var PortionSize = portionSize
