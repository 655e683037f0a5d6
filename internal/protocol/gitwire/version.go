package gitwire

import "strings"

// Version is a version of git's protocol: 0, 1 or 2. Version 1 is version 0 with a line that says so.
type Version int

// ParseVersion reads a Git-Protocol header (gitprotocol-http(5)). ParseVersion returns the greatest known version that the header names,
// else 0.
func ParseVersion(header string) Version {
	v := Version(0)
	for part := range strings.SplitSeq(header, ":") {
		switch part {
		case "version=1":
			v = max(v, 1)
		case "version=2":
			v = max(v, 2)
		}
	}
	return v
}

// Service is one of the two services that a repository offers.
type Service uint8

// The services, as they are named in requests.
const (
	UploadPack  Service = iota // git-upload-pack, which answers fetches
	ReceivePack                // git-receive-pack, which takes pushes
)

// ParseService reads the name of a service, such as git-upload-pack.
func ParseService(name string) (Service, bool) {
	switch name {
	case "git-upload-pack":
		return UploadPack, true
	case "git-receive-pack":
		return ReceivePack, true
	}
	return 0, false
}

func (s Service) String() string {
	if s == ReceivePack {
		return "git-receive-pack"
	}
	return "git-upload-pack"
}
