package access

// recent holds the values of the keys that were used last: of half a limit at least, and of the limit at most.
type recent[K comparable, V any] struct {
	half         int
	newer, older map[K]V // when the newer map is full, it becomes the older one
}

func newRecent[K comparable, V any](limit int) recent[K, V] {
	return recent[K, V]{half: limit / 2, newer: make(map[K]V)}
}

// get returns a key's value, or the zero value.
func (r *recent[K, V]) get(key K) (value V, found bool) {
	if value, found = r.newer[key]; found {
		return value, true
	}
	if value, found = r.older[key]; found {
		r.put(key, value)
	}
	return value, found
}

// put sets a key's value.
func (r *recent[K, V]) put(key K, value V) {
	if _, found := r.newer[key]; !found && len(r.newer) >= r.half {
		r.newer, r.older = make(map[K]V), r.newer
	}
	r.newer[key] = value
}

func (r *recent[K, V]) remove(key K) {
	delete(r.newer, key)
	delete(r.older, key)
}
