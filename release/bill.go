package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// bill is what a binary was made of, in the form of CycloneDX 1.6.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Serial     string      `json:"serialNumber"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Licenses   []licence  `json:"licenses,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type licence struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeBill lists what is linked into a binary: the modules, with the sums that go.sum has of them, and Go's own library.
func (b build) writeBill(to, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	body, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	main := module(info.Main.Path, b.version, "")
	main.Type, main.Hashes = "application", []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}
	main.Licenses = make([]licence, 1)
	main.Licenses[0].License.ID = "MIT"
	main.Properties = append(main.Properties, property{"graspd:commit", b.id}, property{"graspd:file", filepath.Base(binary)})
	list := bill{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Serial:     serial(sum),
		Metadata:   metadata{b.at.Format("2006-01-02T15:04:05Z"), main},
		Components: []component{module("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")},
	}
	for _, m := range info.Deps {
		list.Components = append(list.Components, linked(m))
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

// serial is a UUID (RFC 9562, version 8) that follows from the binary.
func serial(sum [32]byte) string {
	u := sum
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

func linked(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	return module(m.Path, m.Version, m.Sum)
}

func module(path, version, sum string) component {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	purl := "pkg:golang/" + strings.Join(parts, "/") + "@" + url.QueryEscape(version)
	c := component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}
