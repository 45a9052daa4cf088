package run

import (
	"context"
	"net/http"
	"time"
)

// Drain returns an actor that keeps the actors below it running for a time after running has ended. In this time clients and load
// balancers notice that the program is not ready, while it still answers. A program that stops for another reason does not wait.
func Drain(running context.Context, wait time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		if running.Err() != nil {
			<-time.After(wait)
		}
		return nil
	}
}

// CloseConnections returns a handler that asks clients to close their connection after a response once running has ended, because the program stops. Connections
// that the server closed by itself could have a request on their way.
func CloseConnections(running context.Context, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if running.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}
