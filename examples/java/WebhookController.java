import java.security.GeneralSecurityException;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;

/** Receives webhooks with Spring 6 or 7, so Spring Boot 3 or 4. */
@RestController
public class WebhookController {
    private final String secret;

    public WebhookController(@Value("${WEBHOOK_SECRET}") String secret) {
        this.secret = secret;
    }

    @PostMapping("/webhook")
    public ResponseEntity<Void> receive(@RequestHeader HttpHeaders headers, @RequestBody byte[] body)
            throws GeneralSecurityException {
        try {
            VerifyWebhook.verifyWebhook(secret, headers::get, body);
        } catch (VerifyWebhook.WebhookVerificationException error) {
            return ResponseEntity.badRequest().build();
        }
        // Store the body before you respond, and process it later.
        return ResponseEntity.noContent().build();
    }
}
