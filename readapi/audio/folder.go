package audio

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"callboard/readapi/seal"
)

// Folder is a store whose links it serves itself.
type Folder struct {
	dir    string
	prefix string // of every link
	sealer *seal.Sealer
}

func newFolder(dir, prefix string, secret []byte) (*Folder, error) {
	sealer, err := seal.New(secret, "audio")
	if err != nil {
		return nil, fmt.Errorf("links to audio: %w", err)
	}
	return &Folder{dir: dir, prefix: prefix, sealer: sealer}, nil
}

// ticket is what a link grants.
type ticket struct {
	Object
	Expires int64 // seconds since 1970
}

// Sign implements [Store].
func (f *Folder) Sign(_ context.Context, o Object) (Link, error) {
	expires := time.Now().UTC().Truncate(time.Second).Add(Lifetime)
	message, err := json.Marshal(ticket{o, expires.Unix()})
	if err != nil {
		return Link{}, fmt.Errorf("sign a link to audio: %w", err)
	}
	return Link{URL: f.prefix + f.sealer.Seal(message), Expires: expires}, nil
}

// redeem is the object that a link's last segment grants at this moment. The error is [ErrNotFound].
func (f *Folder) redeem(token string) (Object, error) {
	message, err := f.sealer.Open(token)
	if err != nil {
		return Object{}, ErrNotFound
	}
	var t ticket
	if err := json.Unmarshal(message, &t); err != nil || time.Now().Unix() >= t.Expires {
		return Object{}, ErrNotFound
	}
	return t.Object, nil
}
