package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// issueKey makes a key for the sample's first organization. A key can't be shown twice, so every start makes one and ends the
// one before.
func (i *instance) issueKey(ctx context.Context) (key string, err error) {
	peppers := i.home.peppers()
	if len(peppers) == 0 {
		return "", errors.New("the pepper in the data folder is damaged: start again with --fresh")
	}
	pool, err := i.operator(ctx)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	registry := access.NewRegistry(pool, peppers[0])
	if err := i.revokeOld(ctx, registry); err != nil {
		return "", err
	}
	issued, err := registry.Issue(ctx, access.Request{
		Name:   "dev",
		Grant:  access.Grant{Kind: access.GrantOrganization, ID: i.company.Organizations()[0].ID},
		Scopes: access.Scopes(),
	})
	if err != nil {
		return "", err
	}
	return issued.Key.Reveal(), writeFile(i.home.path(keyFile), []byte(issued.ID.String()))
}

// keyFile has the id of the instance's own key.
const keyFile = "key-id"

func (i *instance) revokeOld(ctx context.Context, registry *access.Registry) error {
	text, err := os.ReadFile(i.home.path(keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	id, err := uuid.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("%s in the data folder: %w; start again with --fresh", keyFile, err)
	}
	if err := registry.Revoke(ctx, id); !errors.Is(err, access.ErrUnknownKey) { // the database may be another
		return err
	}
	return nil
}

// examples are addresses that answer to the key: discovery, a system's calls, and a link to what was said in one of them. They
// are found by asking.
func (i *instance) examples(ctx context.Context, key string) ([]string, error) {
	discovery := i.baseURL() + "/customer/phone-systems"
	systems, err := listed(ctx, key, discovery)
	if err != nil {
		return nil, err
	}
	for _, system := range systems {
		calls := discovery + "/" + system.ID + "/call-logs"
		recordings := discovery + "/" + system.ID + "/recordings"
		found, err := listed(ctx, key, recordings+"?status=ready&pageSize=1")
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return []string{discovery, calls + "?pageSize=5", recordings + "/" + found[0].RecordingSid + "/url"}, nil
		}
	}
	return nil, errors.New("the sample has no recorded calls; start again with --fresh")
}

// row is as much of an answer's rows as an example needs.
type row struct {
	ID           string `json:"id"`
	RecordingSid string `json:"recordingSid"`
}

func listed(ctx context.Context, key, url string) ([]row, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	var answer struct {
		Data []row `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return answer.Data, nil
}
