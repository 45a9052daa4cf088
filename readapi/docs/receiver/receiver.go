// Command receiver receives webhooks: it verifies each request, stores its event once, and answers. A worker reads
// what is stored.
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	tolerance = 5 * time.Minute
	maxBody   = 64 << 10
	minKey    = 24
)

var (
	errHeaders   = errors.New("headers")
	errTimestamp = errors.New("timestamp")
	errSignature = errors.New("signature")
	errSecret    = errors.New("secret")
)

// decodeKeys returns the keys of secrets. It refuses an empty or short one: others could sign with it, too.
func decodeKeys(secrets []string) ([][]byte, error) {
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < minKey {
			return nil, errSecret
		}
		keys[i] = key
	}
	return keys, nil
}

// verify returns an error unless one of the secrets signed the request, at most five minutes from now. body is the
// body as received.
func verify(secrets []string, header http.Header, body []byte, now time.Time) error {
	keys, err := decodeKeys(secrets)
	if err != nil {
		return err
	}

	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil {
		return errHeaders
	}

	// A recorded request can be sent again within the tolerance only.
	if now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return errTimestamp
	}

	// While a secret is replaced, the header has a signature for each secret.
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))

		for _, signature := range strings.Fields(header.Get("webhook-signature")) {
			if hmac.Equal([]byte(signature), []byte(want)) { // in constant time
				return nil
			}
		}
	}
	return errSignature
}

// receiver stores events in a folder, one file for each id. With a database, use a table whose primary key is the id.
type receiver struct {
	secrets []string
	inbox   string
}

// ServeHTTP answers 204 when the event is stored, however often it arrives.
func (r receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}

	// The signature covers the body as received.
	if err := verify(r.secrets, q.Header, body, time.Now()); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}

	// Only an event on the disk is answered with success: the sender does not send the event again.
	if err := r.store(q.Header.Get("webhook-id"), body); err != nil {
		log.Print(err)
		http.Error(w, "not stored", http.StatusInternalServerError) // it is sent again
		return
	}

	w.WriteHeader(http.StatusNoContent)
}

// store writes the event to the disk, unless it is there. Nobody sees a part of a file.
func (r receiver) store(id string, body []byte) error {
	file, err := os.CreateTemp(r.inbox, ".")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()

	_, err = file.Write(body)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}

	// The file gets its name when it is complete. The link fails if the event is stored already.
	err = os.Link(file.Name(), filepath.Join(r.inbox, filepath.Base(id)+".json"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}

	// The name is on the disk once the folder is.
	folder, err := os.Open(r.inbox)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func main() {
	inbox := os.Getenv("INBOX") // a folder that exists
	secrets := strings.Split(os.Getenv("WEBHOOK_SECRET"), ",")
	if _, err := decodeKeys(secrets); err != nil {
		log.Fatal("WEBHOOK_SECRET is missing, or has an invalid secret: separate secrets by commas, with none after the last")
	}

	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println("listening on", listener.Addr())
	server := &http.Server{Handler: receiver{secrets, inbox}, ReadTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}
