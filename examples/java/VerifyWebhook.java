import static java.nio.charset.StandardCharsets.US_ASCII;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public final class VerifyWebhook {
    /** The request is not a recent webhook of the order service: respond with 400. */
    public static final class WebhookVerificationException extends Exception {
        WebhookVerificationException(String message) {
            super(message);
        }
    }

    /**
     * Returns if the body is a webhook: then parse it.
     *
     * @param headers returns all values of a header, or null: `headers::get` with HttpHeaders of Spring or Headers of the JDK
     * @param body the raw body
     * @throws IllegalArgumentException if the secret is empty or malformed: fix your configuration
     */
    public static void verifyWebhook(String secret, Function<String, List<String>> headers, byte[] body)
            throws WebhookVerificationException, GeneralSecurityException {
        byte[] key = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
        if (key.length < 24 || !secret.equals("whsec_" + Base64.getEncoder().encodeToString(key))) {
            throw new IllegalArgumentException("the webhook secret is empty or malformed");
        }
        String timestamp = header(headers, "webhook-timestamp");
        if (!timestamp.matches("[0-9]{1,11}")
                || Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(timestamp)) > 300) {
            throw new WebhookVerificationException("the timestamp is not within five minutes of the current time");
        }
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        mac.update((header(headers, "webhook-id") + "." + timestamp + ".").getBytes(US_ASCII));
        byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(US_ASCII);
        for (String given : header(headers, "webhook-signature").split(" ")) {
            if (MessageDigest.isEqual(given.getBytes(US_ASCII), expected)) {
                return;
            }
        }
        throw new WebhookVerificationException("the signature does not match");
    }

    private static String header(Function<String, List<String>> headers, String name)
            throws WebhookVerificationException {
        List<String> values = headers.apply(name);
        // Servers join the values of a repeated header with a comma and a space.
        if (values == null || values.size() != 1 || !values.get(0).matches("(?!.*, )[\\x20-\\x7e]+")) {
            throw new WebhookVerificationException("the header " + name + " is missing, repeated or not ASCII");
        }
        return values.get(0);
    }
}
