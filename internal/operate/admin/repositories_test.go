package admin_test

import "testing"

// The least complete comes first; what was not compared is null.
func TestRepositoriesJSON(t *testing.T) {
	const address = `{"address":"30617:` + owner + `:`
	want := `{"total":2,"matching":2,"repositories":[` +
		address + `\u003cscript\u003ealert(1)\u003c/script\u003e","roots":9,"complete":false,"relays":[{"url":"wss://other.example.net","want":10,"confirmed":3,"held":100,"lacks":8}]},` +
		address + `whole","roots":4,"complete":false,"relays":[{"url":"wss://other.example.net","want":5,"confirmed":5,"held":null,"lacks":null},` +
		`{"url":"wss://waiting.example.net","want":5,"confirmed":0,"held":null,"lacks":null}]}]}` + "\n"
	for range 10 { // relays are told of in any order
		if got := get(t, shown(), "GET", "/repositories.json").Body.String(); got != want {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
	}
	if got := get(t, here, "GET", "/repositories.json").Body.String(); got != `{"total":0,"matching":0,"repositories":[]}`+"\n" {
		t.Errorf("without sync: %s", got)
	}
}
