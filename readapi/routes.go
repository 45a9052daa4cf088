package readapi

import (
	"errors"
	"net/http"

	"github.com/gorilla/mux"
)

// routes find a request's operation. The router is asked to match and never to serve: its redirects, its plain-text answers
// and its habit of leaving out middleware on them stay out of the way.
type routes struct {
	router *mux.Router
	byID   map[string]operation
}

func newRoutes(base string, register []operation) *routes {
	t := &routes{router: mux.NewRouter().SkipClean(true).UseEncodedPath(), byID: make(map[string]operation)}
	for _, o := range register {
		t.router.Path(base+o.Path).Methods(http.MethodGet, http.MethodHead).Name(o.ID)
		t.byID[o.ID] = o
	}
	return t
}

// find is the request's operation and the path's variables, still encoded. The error is a [*problem].
func (t *routes) find(r *http.Request) (operation, map[string]string, error) {
	var match mux.RouteMatch
	switch {
	case t.router.Match(r, &match):
		return t.byID[match.Route.GetName()], match.Vars, nil
	case errors.Is(match.MatchErr, mux.ErrMethodMismatch):
		return operation{}, nil, &problem{code: methodNotAllowed}
	}
	return operation{}, nil, &problem{code: notFound}
}
