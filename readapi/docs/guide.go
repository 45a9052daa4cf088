package docs

import (
	"embed"
	"io/fs"

	"callboard/events"
)

// The guide for receivers of webhooks, and the test vectors that it leads to. They are beside the description, which has nothing of webhooks.
const (
	guidePath   = "/docs/webhooks"
	vectorsPath = "/docs/webhooks-vectors.json"
)

//go:embed receiver/receiver.go receiver/receiver.py receiver/receiver.mjs
var receivers embed.FS

// addGuide adds the guide and the test vectors. Assets are the paths of the page's assets by key.
func addGuide(files map[string]File, prefix string, assets map[string]string) error {
	values := map[string]any{"Docs": prefix + "/docs", "Vectors": prefix + vectorsPath, "Assets": assets}
	for language, name := range map[string]string{"Go": "receiver.go", "Python": "receiver.py", "JavaScript": "receiver.mjs"} {
		code, err := fs.ReadFile(receivers, "receiver/"+name)
		if err != nil {
			return err
		}
		values[language] = string(code)
	}
	guide, err := render("webhooks.html", values)
	if err != nil {
		return err
	}
	vectors, err := fs.ReadFile(events.Documents(), "webhooks.vectors.json")
	if err != nil {
		return err
	}
	files[prefix+guidePath] = guide
	files[prefix+vectorsPath] = File{ContentType: "application/json", CacheControl: revalidate, Body: vectors}
	return nil
}
