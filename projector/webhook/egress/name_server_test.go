package egress_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// host is the name that a name server knows.
const host = "hooks.example"

// nameServer answers DNS queries for IPv4 addresses of one name. No other name exists.
type nameServer struct {
	connection net.PacketConn
	mu         sync.Mutex
	answers    [][]string // the addresses of each answer in turn; the last one repeats
}

func newNameServer(tb testing.TB) *nameServer {
	tb.Helper()
	var config net.ListenConfig
	connection, err := config.ListenPacket(tb.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &nameServer{connection: connection}
	served := make(chan struct{})
	go func() { defer close(served); s.serve() }()
	tb.Cleanup(func() {
		_ = connection.Close()
		<-served
	})
	return s
}

// set says what the name resolves to: the addresses of the first answer, of the second, and so on.
func (s *nameServer) set(answers ...[]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = answers
}

// next returns the addresses of the next answer, and whether the name exists.
func (s *nameServer) next(question dnsmessage.Question) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if question.Name.String() != host+"." || len(s.answers) == 0 {
		return nil, false
	}
	if question.Type != dnsmessage.TypeA {
		return nil, true
	}
	addresses := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return addresses, true
}

func (s *nameServer) serve() {
	buffer := make([]byte, 1500)
	for {
		n, from, err := s.connection.ReadFrom(buffer)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(buffer[:n]) != nil || len(query.Questions) != 1 {
			continue
		}
		if answer, err := s.answer(query); err == nil {
			_, _ = s.connection.WriteTo(answer, from)
		}
	}
}

func (s *nameServer) answer(query dnsmessage.Message) ([]byte, error) {
	question := query.Questions[0]
	addresses, known := s.next(question)
	answer := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: query.Questions,
	}
	if !known {
		answer.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		answer.Answers = append(answer.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
		})
	}
	return answer.Pack()
}

// resolver asks this server, whatever servers the machine is set up with.
func (s *nameServer) resolver() *net.Resolver {
	var dialer net.Dialer
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "udp", s.connection.LocalAddr().String())
	}}
}
