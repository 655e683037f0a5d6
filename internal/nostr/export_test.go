package nostr

// SignSchnorr is BIP-340 for a message of any length.
func SignSchnorr(k SecretKey, msg []byte, aux [32]byte) (Sig, error) {
	p, err := k.pair()
	if err != nil {
		return Sig{}, err
	}
	return p.sign(msg, aux), nil
}
