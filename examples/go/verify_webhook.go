// Package webhooks verifies the webhooks of the order service.
package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrInvalidWebhook means that the request is not a recent webhook of the order service: respond with 400.
	ErrInvalidWebhook = errors.New("not a recent webhook of the order service")
	// ErrInvalidSecret means that the secret is empty or malformed: fix your configuration.
	ErrInvalidSecret = errors.New("the webhook secret is empty or malformed")
)

var ascii = regexp.MustCompile(`^[\x20-\x7e]+$`)

// VerifyWebhook returns nil if the raw body is a webhook: then parse it.
func VerifyWebhook(secret string, headers http.Header, body []byte) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 || secret != "whsec_"+base64.StdEncoding.EncodeToString(key) {
		return ErrInvalidSecret
	}
	var values []string
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		given := headers.Values(name)
		// Servers join the values of a repeated header with a comma and a space.
		if len(given) != 1 || !ascii.MatchString(given[0]) || strings.Contains(given[0], ", ") {
			return ErrInvalidWebhook
		}
		values = append(values, given[0])
	}
	id, timestamp, signatures := values[0], values[1], values[2]
	seconds, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil || time.Since(time.Unix(int64(seconds), 0)).Abs() > 5*time.Minute {
		return ErrInvalidWebhook
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	for _, given := range strings.Split(signatures, " ") {
		if hmac.Equal(expected, []byte(given)) {
			return nil
		}
	}
	return ErrInvalidWebhook
}
