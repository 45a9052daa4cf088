package egress_test

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"callboard/events/eventstest"
	"callboard/projector/webhook/egress"
)

// checkNoAnswer fails unless there is no answer, for a reason of a class, whose text does not hold the URL's query.
func checkNoAnswer(t *testing.T, a egress.Answer, class, want string) {
	t.Helper()
	if a.Status != 0 || a.Class != class || a.Err == nil || !strings.Contains(a.Err.Error(), want) {
		t.Errorf("answer = %+v, want class %s and the error %q", a, class, want)
	}
	if a.Err != nil && strings.Contains(a.Err.Error(), "s3cret") {
		t.Errorf("error = %q, want it without the URL's query", a.Err)
	}
}

func checkAccepted(t *testing.T, r *receiver, want int64) {
	t.Helper()
	if got := r.accepted.Load(); got != want {
		t.Errorf("accepted connections = %d, want %d", got, want)
	}
}

func TestAddressDecidesNotTheName(t *testing.T) {
	h := newHarness(t)
	private := receive(t, "127.0.0.1:0", h.authority.KeyPair(t, host), nil, accept)
	h.names.set([]string{"127.0.0.1"})
	url := strings.Replace(private.named(host), "https://", "HTTPS://", 1)
	refused := connect(t, h.client("127.0.0.2/32"), url)
	checkNoAnswer(t, post(t, refused), egress.Refused,
		"destination 127.0.0.1 is not a public address: allow its network with CALLBOARD_WEBHOOK_ALLOW_NETWORKS")
	checkAccepted(t, private, 0)

	if a := post(t, connect(t, h.client("127.0.0.0/8"), url)); !a.Delivered() {
		t.Errorf("answer of an allowed network = %+v, want 204", a)
	}
}

// freePortOfBoth returns a port that is free at 127.0.0.1 and at 127.0.0.2.
func freePortOfBoth(t *testing.T) (port string) {
	t.Helper()
	var config net.ListenConfig
	eventstest.Eventually(t, "a port that is free at both addresses", func() bool {
		port = strconv.Itoa(eventstest.FreePort(t)) // at 127.0.0.1
		second, err := config.Listen(t.Context(), "tcp", "127.0.0.2:"+port)
		return err == nil && second.Close() == nil
	})
	return port
}

// An address of this machine that is allowed stands for a public one.
func TestNameThatChangesItsAddressIsRefused(t *testing.T) {
	h := newHarness(t)
	closing := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		accept(w, r)
	}
	port := freePortOfBoth(t)
	public := receive(t, "127.0.0.2:"+port, h.authority.KeyPair(t, host), nil, closing)
	private := receive(t, "127.0.0.1:"+port, h.authority.KeyPair(t, host), nil, accept)
	h.names.set([]string{"127.0.0.2"}, []string{"127.0.0.1"})
	endpoint := connect(t, h.client("127.0.0.2/32"), public.named(host))
	if a := post(t, endpoint); !a.Delivered() {
		t.Fatalf("first answer = %+v, want 204", a)
	}
	checkNoAnswer(t, post(t, endpoint), egress.Refused, "destination 127.0.0.1 is not a public address")
	checkAccepted(t, public, 1)
	checkAccepted(t, private, 0)
}

func TestEveryAddressOfANameIsChecked(t *testing.T) {
	h := newHarness(t)
	private := receive(t, "127.0.0.1:0", h.authority.KeyPair(t, host), nil, accept)
	h.names.set([]string{"127.0.0.2", "127.0.0.1"}) // nothing listens at the first one
	endpoint := connect(t, h.client("127.0.0.2/32"), private.named(host))
	if a := post(t, endpoint); a.Class != egress.Refused {
		t.Errorf("answer = %+v, want class refused", a)
	}
	checkAccepted(t, private, 0)
}

func TestPortIsCheckedWhereTheNameResolvesTo(t *testing.T) {
	h := newHarness(t)
	h.names.set([]string{"8.8.8.8"}) // refused before anything is sent
	endpoint := connect(t, h.client("127.0.0.1/32"), "https://hooks.example:25/?"+query)
	checkNoAnswer(t, post(t, endpoint), egress.Refused, "port 25 is not allowed: use one of 443, 8443")
}

func TestRedirectIsNotFollowed(t *testing.T) {
	h := newHarness(t)
	target := h.receive(t, accept)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		r := h.receive(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target.named("127.0.0.1"), status)
		})
		if a := post(t, h.connect(t, r.named("127.0.0.1"))); a.Status != status || a.Class != "3xx" || a.Delivered() || a.Err != nil {
			t.Errorf("answer = %+v, want status %d and class 3xx", a, status)
		}
	}
	checkAccepted(t, target, 0)
}

func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	h := newHarness(t)
	proxy := h.receive(t, accept)
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://"+proxy.Listener.Addr().String())
	}
	h.names.set([]string{"127.0.0.1"})
	r := receive(t, "127.0.0.1:0", h.authority.KeyPair(t, host), nil, accept)
	if a := post(t, h.connect(t, r.named(host))); !a.Delivered() {
		t.Errorf("answer = %+v, want 204", a)
	}
	checkAccepted(t, proxy, 0)
}

func TestDestinationsWithoutAnAnswerHaveClasses(t *testing.T) {
	h := newHarness(t)
	address := "127.0.0.1:" + strconv.Itoa(eventstest.FreePort(t))
	checkNoAnswer(t, post(t, h.connect(t, "https://"+address+"/?"+query)), egress.Refused, address+": connect: connection refused")
	checkNoAnswer(t, post(t, h.connect(t, "https://nowhere.example/?"+query)), egress.DNS,
		"lookup nowhere.example")
}
