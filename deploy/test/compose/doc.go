// Package compose checks docker-compose.yml: its text, and, with the flag -engine, what it starts on this machine's
// container engine.
package compose
