package access

// AuthorizeSQL is the statement that decides about a key and a phone system.
func AuthorizeSQL() string { return newStatements().system }

// AuthorizeListSQL is the statement that decides about a key and the list of its phone systems.
func AuthorizeListSQL() string { return newStatements().list }
