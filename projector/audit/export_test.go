package audit

import "time"

// Hasten shortens the intervals of a writer that has not started.
func (w *Writer) Hasten() {
	w.maxIdle, w.observeInterval, w.standbyInterval = time.Second, 100*time.Millisecond, 200*time.Millisecond
}
