package events

// DecodeKey reads the key of a call, a voicemail or a transcript as [Decoder.Decode] does, and nothing else of the message, which costs half
// as much. It is not ok where it finds no key. A message of which it reads the key can still be one that Decode refuses.
func (d *Decoder) DecodeKey(m Message) (entity Entity, key string, ok bool) {
	entity, _, ok = parseType(header(m.Header, headerType))
	if !ok || mediaType(header(m.Header, headerContentType)) == contentEvent {
		return "", "", false
	}
	defer d.document.forget()
	var p problems
	o := d.document.object(m.Data, &p)
	if o == nil {
		return "", "", false
	}
	switch entity {
	case EntityCall, EntityVoicemail:
		key = required(o, "id", identifier).String()
	case EntityTranscript:
		key = readOwnerRow(o).Key()
	default:
		return "", "", false
	}
	return entity, key, len(p) == 0
}
