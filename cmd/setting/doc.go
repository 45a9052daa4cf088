// Package setting is callboard's settings: what they are called, what they look like, and where they come from.
//
// A setting is a field of a program's kong structure whose type is a [Value]. Its text comes from the flag, else from the
// environment variable that the tag "setting" names, else, where the tag "secret" is there too, from the file that the same
// variable with _FILE behind it names, else from kong's tag "default". A variable set to nothing is not set.
//
//	URL setting.NATSURL `name:"nats-url" setting:"CALLBOARD_NATS_URL" secret:"" missing:"set it to ..."`
//
// The tag "missing" makes a setting required and says what to do where it is absent. Nothing is refused on the way: [Parse]
// reads everything and then reports all that is bad or missing at once.
//
// What holds a secret prints without it, whatever the verb or the encoder, and no error quotes a secret's text.
package setting
