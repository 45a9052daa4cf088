package scenario_test

import (
	"slices"
	"strings"
)

// place is what a request names: a phone system, and in it an object. What the operation's path doesn't name is empty.
type place struct {
	system, object owner
	voice          bool // the object is a voicemail's sound, where the operation is about recordings'
}

// places are what there is to ask an operation for: in every phone system its own object, and in one's own everybody's.
func places(o operation) []place {
	variables := pathVariable.FindAllString(o.path, -1)
	switch len(variables) {
	case 0:
		return []place{{}}
	case 1:
		var list []place
		for _, system := range systemOwners() {
			list = append(list, place{system: system})
		}
		return list
	}
	var list []place
	for _, of := range systemOwners() {
		list = append(list, place{system: of, object: of})
		if of != own {
			list = append(list, place{system: own, object: of})
		}
		if variables[1] == "{recordingSid}" && of != malformed {
			list = append(list, place{system: own, object: of, voice: true})
		}
	}
	return append(list, place{system: own, object: removed}, place{system: fellow, object: malformed}, place{system: stranger, object: malformed})
}

// path is the request for a place.
func (r *realm) path(o operation, p place) string {
	path := pathVariable.ReplaceAllStringFunc(o.path, func(variable string) string {
		of := p.object
		if variable == "{phoneSystemId}" {
			of = p.system
		}
		switch {
		case of == malformed:
			return "x"
		case of == removed:
			return r.tenants[own].object(variable, 1)
		case p.voice && variable == "{recordingSid}":
			return r.tenants[of].sid(messageSound)
		}
		return r.tenants[of].object(variable, 0)
	})
	if o.id == "listCallLogReports" {
		path += "?" + march
	}
	return path
}

// expected is what the contract says about a request (Authentication; the order of checks), whatever the code under test does.
func (c credential) expected(o operation, p place) string {
	voicemail := p.voice && o.id == "getCallRecordingUrl"
	switch {
	case c.refusal != "":
		return c.refusal
	case p.system == malformed || p.object == malformed:
		return "400 VALIDATION_FAILED" + misshapen(o, p)
	case !c.unlocks(o):
		return "403 INSUFFICIENT_SCOPE"
	case p.system != "" && !slices.Contains(c.covers, p.system):
		return "404 NOT_FOUND"
	case p.object != "" && p.object != p.system, p.object != "" && !c.sees(o, p), p.voice && !voicemail:
		return "404 NOT_FOUND"
	case voicemail && !slices.Contains(c.scopes, "voicemails:read"):
		return "403 INSUFFICIENT_SCOPE"
	}
	return "200"
}

// misshapen are the variables of the path that name no identifier.
func misshapen(o operation, p place) string {
	var wrong strings.Builder
	for i, variable := range pathVariable.FindAllString(o.path, -1) {
		if []owner{p.system, p.object}[i] == malformed {
			wrong.WriteString(" /" + strings.Trim(variable, "{}") + " INVALID_FORMAT")
		}
	}
	return wrong.String()
}

// unlocks reports whether the key has the operation's scope: across the whole phone system, where it is a report.
func (c credential) unlocks(o operation) bool {
	if isReport(o) && c.narrowed {
		return false
	}
	return o.scope == "" || slices.Contains(c.scopes, o.scope)
}

// sees reports whether a covered phone system's rows are there for the key. The extension that it may be narrowed to is in its
// own system, and has answered the call there.
func (c credential) sees(o operation, p place) bool {
	return !c.narrowed || o.scope != "calls:read" || p.system == own
}
