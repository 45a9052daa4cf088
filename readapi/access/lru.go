package access

import "container/list"

// lru holds the values of the keys that were used last, up to a limit.
type lru[K comparable, V any] struct {
	limit   int
	entries map[K]*list.Element
	order   *list.List // of lruEntry, the last used first
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](limit int) lru[K, V] {
	return lru[K, V]{limit: limit, entries: make(map[K]*list.Element), order: list.New()}
}

// get returns a key's value, or the zero value.
func (l *lru[K, V]) get(key K) (value V, found bool) {
	e := l.entries[key]
	if e == nil {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(lruEntry[K, V]).value, true
}

// put sets a key's value, and forgets the key that was not used for longest if there are too many.
func (l *lru[K, V]) put(key K, value V) {
	if e := l.entries[key]; e != nil {
		e.Value = lruEntry[K, V]{key, value}
		l.order.MoveToFront(e)
		return
	}
	l.entries[key] = l.order.PushFront(lruEntry[K, V]{key, value})
	if l.order.Len() > l.limit {
		l.remove(l.order.Back().Value.(lruEntry[K, V]).key)
	}
}

func (l *lru[K, V]) remove(key K) {
	if e := l.entries[key]; e != nil {
		l.order.Remove(e)
		delete(l.entries, key)
	}
}
