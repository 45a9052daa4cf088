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

// childURLs makes the test binary a reader: the URLs of NATS and of PostgreSQL, with a space between.
const childURLs = "CALLBOARD_TEST_READER"

// runChild is a reader until its input ends. It prints its address. It has more patience than readers have, since what comes
// too late on a machine busy with other tests says nothing about budgets.
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

// startChild starts a reader in a process of its own and returns its address. It ends with the test.
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

// Two readers, each a process, share a key's budget: of 500 requests at once exactly 120 are answered.
func TestRun_ReadersShareBudgets(t *testing.T) {
	database, nats := schematest.New(t), eventstest.NewServer(t)
	if _, err := eventstest.JetStream(t, nats.URL()).CreateStream(t.Context(), audit.StreamConfig(1)); err != nil {
		t.Fatal(err)
	}
	pepper, err := pepper()
	if err != nil {
		t.Fatal(err)
	}
	issued, err := access.NewRegistry(database.Pool(t), pepper).Issue(t.Context(), access.Request{
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
	verdicts := map[int]int{}
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			status := discover(client, readers[i%len(readers)], issued.Key.Reveal())
			mu.Lock()
			verdicts[status]++
			mu.Unlock()
		})
	}
	all.Wait()
	if verdicts[http.StatusOK] != 120 || verdicts[http.StatusTooManyRequests] != requests-120 {
		t.Errorf("%v", verdicts)
	}
}

// discover is the status of an answer, 0 where there was none.
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
