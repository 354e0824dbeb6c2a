<?php
// The product page. A real shop creates the cart with its id, and stores both.
$cart = bin2hex(random_bytes(16));
?>
<title>Coffee shop</title>
<h1>Coffee machine</h1>
<form method="post" action="pay.php">
  <input type="hidden" name="cart" value="<?= $cart ?>">
  <button>Pay £1,234.50</button>
</form>
