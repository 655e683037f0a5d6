// Package nip34 reads git events (NIP-34): it makes typed values of the events that decide something, and tells which
// repositories and events any event names. It reads liberally what others wrote, and looks at a bounded part of it.
// Packages grasp and policy judge whether an event is wanted, who may decide for a repository, and whether a URL is good.
package nip34
