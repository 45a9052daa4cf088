package fault_test

import (
	"sync/atomic"
)

// reader is one that clients ask. They know each of its lives by its address.
type reader struct {
	*program
	at atomic.Pointer[address] // nil: it is being killed or started, and need not answer
}

// address is where one life of a reader answers.
type address struct {
	url string
}

func (r *reader) start() {
	r.tb.Helper()
	r.program.start()
	r.at.Store(&address{"http://" + r.said(`"public":"([^"]+)"`) + "/v1/customer/phone-systems"})
}

func (r *reader) kill() {
	r.tb.Helper()
	r.at.Store(nil)
	r.program.kill()
}
