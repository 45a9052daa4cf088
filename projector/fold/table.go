package fold

// Table is the part of one database table that a batch of events touches: its rows as loaded and as they are now.
// The zero Table is empty and ready to use.
type Table[K, R comparable] struct {
	entries map[K]*entry[K, R]
	order   []*entry[K, R] // in order of first use, so that writes are deterministic
}

// entry holds the loaded row by pointer, so that a fold that loads nothing holds each row once.
type entry[K, R comparable] struct {
	key     K
	row     R
	loaded  *R // nil if the row was not loaded
	live    bool
	written bool
}

// need asks for the row of a key. It tells whether the key is a new one.
func (t *Table[K, R]) need(key K) bool {
	known := len(t.order)
	t.at(key)
	return len(t.order) > known
}

// Needed returns the keys of the rows that the caller is to load, in order of first use.
func (t *Table[K, R]) Needed() []K {
	keys := make([]K, len(t.order))
	for i, e := range t.order {
		keys[i] = e.key
	}
	return keys
}

// Load adds a row as the database has it.
func (t *Table[K, R]) Load(key K, row R) {
	e := t.at(key)
	e.row, e.loaded, e.live = row, &row, true
}

// Get returns the row as it is now; ok is false if there is none.
func (t *Table[K, R]) Get(key K) (row R, ok bool) {
	if e := t.entries[key]; e != nil && e.live {
		return e.row, true
	}
	return row, false
}

// has tells whether there is a row, without copying it.
func (t *Table[K, R]) has(key K) bool {
	e := t.entries[key]
	return e != nil && e.live
}

// Rows iterates over the rows as they are now, in order of first use. The caller must not change them.
func (t *Table[K, R]) Rows() func(yield func(*R) bool) {
	return func(yield func(*R) bool) {
		for _, e := range t.order {
			if e.live && !yield(&e.row) {
				return
			}
		}
	}
}

// existing iterates over those of the keys that have a row.
func (t *Table[K, R]) existing(keys []K) func(yield func(K, R) bool) {
	return func(yield func(K, R) bool) {
		for _, key := range keys {
			if row, ok := t.Get(key); ok && !yield(key, row) {
				return
			}
		}
	}
}

// Put adds or replaces a row.
func (t *Table[K, R]) Put(key K, row R) {
	e := t.at(key)
	e.row, e.live, e.written = row, true, true
}

// Delete removes a row, whether it was loaded or not.
func (t *Table[K, R]) Delete(key K) {
	var none R
	e := t.at(key)
	e.row, e.live, e.written = none, false, true
}

// Changes returns the rows to write and the keys to delete that bring the database to the table's state. A row that
// equals its loaded state is in neither. Deletions of rows that were not loaded are included. The rows are the
// table's: the caller must not change them, and a later fold may.
func (t *Table[K, R]) Changes() (upserts []*R, deletes []K) {
	for _, e := range t.order {
		switch {
		case !e.written:
		case !e.live:
			deletes = append(deletes, e.key)
		case e.loaded == nil || e.row != *e.loaded:
			upserts = append(upserts, &e.row)
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
