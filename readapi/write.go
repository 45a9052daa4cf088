package readapi

import (
	"errors"
	"net/http"
	"os"
	"time"
)

// A client that reads more slowly than this holds the memory of its response for too long, and is cut off.
const (
	slowestRate      = 64 << 10 // bytes per second
	defaultSlowGrace = 5 * time.Second
)

// pieceBytes is how much is written under one deadline.
const pieceBytes = 256 << 10

// cutReason is why a response was not written to its end, the label of the metric.
type cutReason string

const (
	cutSlow cutReason = "slow" // the client read too slowly
	cutGone cutReason = "gone" // the client closed the connection
)

// writeBody writes a body in pieces. The deadline of a piece is when a client that reads at slowestRate has read the
// body up to the piece's end, and the grace has passed. It returns an empty reason if the whole body is written.
// Otherwise net/http closes the connection.
func writeBody(w http.ResponseWriter, body []byte, grace time.Duration) cutReason {
	controller := http.NewResponseController(w)
	began := time.Now()

	for written := 0; written < len(body); {
		piece := body[written:min(len(body), written+pieceBytes)]
		written += len(piece)

		err := controller.SetWriteDeadline(began.Add(max(grace, time.Duration(written)*time.Second/slowestRate)))
		if err == nil || errors.Is(err, http.ErrNotSupported) {
			_, err = w.Write(piece)
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return cutSlow
		case err != nil:
			return cutGone
		}
	}
	return ""
}
