package store

// Common is the shape without what the other doesn't have.
func (s Catalog) Intersect(other Catalog) Catalog {
	common := Catalog{prefix: s.prefix, widths: make(map[string][]int16)}
	for table, widths := range s.widths {
		others, ok := other.widths[table]
		if !ok {
			continue
		}
		kept := make([]int16, len(widths))
		for i := range widths {
			if others[i] != 0 {
				kept[i] = widths[i]
			}
		}
		common.widths[table] = kept
	}
	return common
}
