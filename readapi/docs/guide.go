package docs

import (
	"embed"
	"io/fs"
	"path"

	"callboard/events"
)

// guidePath is the page for receivers of webhooks. It is beside the description, which has nothing of webhooks.
const guidePath = "/docs/webhooks"

//go:embed receiver/receiver.go receiver/receiver.py receiver/receiver.mjs
var receivers embed.FS

// webhookDocuments are the documents that the guide links, by their keys in the page, and their content types.
func webhookDocuments() map[string]struct{ name, contentType string } {
	return map[string]struct{ name, contentType string }{
		"AsyncAPI": {"webhooks.asyncapi.yaml", "application/yaml"},
		"OpenAPI":  {"webhooks.openapi.json", "application/json"},
		"Schema":   {"schemas/webhook.schema.json", "application/schema+json"},
		"Vectors":  {"webhooks.vectors.json", "application/json"},
	}
}

// addGuide adds the guide and the documents that it links. Assets are the paths of the page's assets by key.
func addGuide(files map[string]File, prefix string, assets map[string]string) error {
	values := map[string]any{"Docs": prefix + "/docs", "Assets": assets}
	for language, name := range map[string]string{"Go": "receiver.go", "Python": "receiver.py", "JavaScript": "receiver.mjs"} {
		code, err := fs.ReadFile(receivers, "receiver/"+name)
		if err != nil {
			return err
		}
		values[language] = string(code)
	}

	for key, document := range webhookDocuments() {
		content, err := fs.ReadFile(events.Documents(), document.name)
		if err != nil {
			return err
		}

		// A document is served beside the guide, without the folder of its file.
		served := prefix + "/docs/" + path.Base(document.name)
		values[key] = served
		files[served] = File{ContentType: document.contentType, CacheControl: revalidate, Body: content}
	}

	guide, err := render("webhooks.html", values)
	if err != nil {
		return err
	}
	files[prefix+guidePath] = guide
	return nil
}
