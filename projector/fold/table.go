package fold

// Table is the part of one database table that a batch of events touches: the rows as they were loaded and as they are now.
// The zero Table is empty and ready.
type Table[K, R comparable] struct {
	entries map[K]*entry[K, R]
	order   []*entry[K, R] // of first touch, so that writes are deterministic
}

// entry is a row as it is now. What was loaded lies beside it, so that a fold that starts from nothing holds each row once.
type entry[K, R comparable] struct {
	key     K
	row     R
	loaded  *R // nil: it wasn't
	live    bool
	written bool
}

// Load adds a row as it stands in the database.
func (t *Table[K, R]) Load(key K, row R) {
	e := t.at(key)
	e.row, e.loaded, e.live = row, &row, true
}

// Get is the row as it is now; ok is false where there is none.
func (t *Table[K, R]) Get(key K) (row R, ok bool) {
	if e := t.entries[key]; e != nil && e.live {
		return e.row, true
	}
	return row, false
}

// Rows are the rows as they are now, in the order of first touch. They are not to be changed.
func (t *Table[K, R]) Rows() func(yield func(*R) bool) {
	return func(yield func(*R) bool) {
		for _, e := range t.order {
			if e.live && !yield(&e.row) {
				return
			}
		}
	}
}

// Put writes a row.
func (t *Table[K, R]) Put(key K, row R) {
	e := t.at(key)
	e.row, e.live, e.written = row, true, true
}

// Delete removes a row, loaded or not.
func (t *Table[K, R]) Delete(key K) {
	var none R
	e := t.at(key)
	e.row, e.live, e.written = none, false, true
}

// Changes are the rows to write and the keys to delete so that the database stands as the table does. A row that ended as it
// was loaded is in neither. Deletions of rows that were never loaded are included.
func (t *Table[K, R]) Changes() (upserts []R, deletes []K) {
	for _, e := range t.order {
		switch {
		case !e.written:
		case !e.live:
			deletes = append(deletes, e.key)
		case e.loaded == nil || e.row != *e.loaded:
			upserts = append(upserts, e.row)
		}
	}
	return upserts, deletes
}

func (t *Table[K, R]) at(key K) *entry[K, R] {
	if t.entries == nil {
		t.entries = make(map[K]*entry[K, R])
	}
	e := t.entries[key]
	if e == nil {
		e = &entry[K, R]{key: key}
		t.entries[key] = e
		t.order = append(t.order, e)
	}
	return e
}
