package readapi

func voicemail() []field {
	return []field{
		{"id", identifier},
		{"phoneSystemId", identifier},
		{"callSid", text},
		{"from", text},
		{"fromName", text},
		{"duration", integer},
		{"extensionId", identifier},
		{"callGroupId", identifier},
		{"listened", boolean},
		{"archived", boolean},
		{"recordingSid", text},
		{"createdAt", dateTime},
	}
}

func voicemailDetail() []field { return append(voicemail(), transcription()...) }
