package readapi_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"callboard/cmd/process"
	"callboard/cmd/program/readapi"
	"callboard/events/audit"
	"callboard/events/eventstest"
	"callboard/readapi/access"
	"callboard/schema/schematest"
)

// childURLs is an environment variable that makes the test binary run a reader: the URLs of NATS and PostgreSQL, separated by a space.
const childURLs = "CALLBOARD_TEST_READER"

// runChild runs a reader until its input ends, and prints its URL. Its timeouts are long, because on a busy machine a timeout would
// change the number of allowed requests.
func runChild() int {
	natsURL, postgresURL, _ := strings.Cut(os.Getenv(childURLs), " ")
	c, err := configFor(natsURL, postgresURL, os.TempDir())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c.LimiterTimeout, c.RequestTimeout = time.Minute, time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if c.Public, err = process.Listen(ctx, "127.0.0.1:0"); err == nil {
		c.Admin, err = process.Listen(ctx, "127.0.0.1:0")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("http://" + c.Public.Addr().String())
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		cancel()
	}()
	if err := readapi.Run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startChild starts a reader in another process and returns its URL. The process ends with the test.
func startChild(t *testing.T, natsURL, postgresURL string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), childURLs+"="+natsURL+" "+postgresURL)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("reader: %v", err)
		}
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Two reader processes share the budget of a key: of 500 concurrent requests 120 are allowed.
func TestRun_ReadersShareBudgets(t *testing.T) {
	database, nats := schematest.New(t), eventstest.NewServer(t)
	if _, err := eventstest.JetStream(t, nats.URL()).CreateStream(t.Context(), audit.StreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	pepper, err := pepper()
	if err != nil {
		t.Fatal(err)
	}
	issued, err := access.NewRegistry(database.Pool(t), pepper).Issue(t.Context(), access.KeySpec{
		Name: "shared", Grant: access.Grant{Kind: access.GrantSystem, ID: uuid.New()}, Scopes: []access.Scope{access.ScopeCalls},
	})
	if err != nil {
		t.Fatal(err)
	}
	var readers []string
	for range 2 {
		readers = append(readers, startChild(t, nats.URL(), database.RoleURL("callboard_reader")))
	}
	const requests = 500
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: requests}}
	t.Cleanup(client.CloseIdleConnections)
	var mu sync.Mutex
	statuses := map[int]int{}
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			status := discover(client, readers[i%len(readers)], issued.Key.Reveal())
			mu.Lock()
			statuses[status]++
			mu.Unlock()
		})
	}
	all.Wait()
	if statuses[http.StatusOK] != 120 || statuses[http.StatusTooManyRequests] != requests-120 {
		t.Errorf("responses by status = %v, want 120 times 200 and %d times 429", statuses, requests-120)
	}
}

// discover returns the status of a response, 0 without one.
func discover(client *http.Client, base, key string) int {
	request, err := http.NewRequest(http.MethodGet, base+"/v1/customer/phone-systems", nil) //nolint:noctx // the client has a timeout
	if err != nil {
		return 0
	}
	request.Header.Set("X-API-Key", key)
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
