package nip19

// For tests.
var (
	Decode   = decode
	Checksum = checksum
)
