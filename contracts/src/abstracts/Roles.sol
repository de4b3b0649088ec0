// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IAccessWindow} from "../interfaces/IAccessWindow.sol";

/// @title Who may do what
/// @notice The owner sets terms and takes earnings; forwarders pass settled payments on; recorders count calls. None of
/// them has power over a subscriber's balance.
abstract contract Roles is IAccessWindow, Ownable2Step {
    mapping(address account => bool isAllowed) internal _forwarders;
    mapping(address account => bool isAllowed) internal _recorders;

    modifier onlyForwarder() {
        if (!_forwarders[msg.sender]) revert AccessWindow_NotForwarder(msg.sender);
        _;
    }

    modifier onlyRecorder() {
        if (!_recorders[msg.sender]) revert AccessWindow_NotRecorder(msg.sender);
        _;
    }

    /// @inheritdoc IAccessWindow
    function setForwarder(address forwarder, bool isAllowed) external onlyOwner {
        _setForwarder(forwarder, isAllowed);
    }

    /// @inheritdoc IAccessWindow
    function setRecorder(address recorder, bool isAllowed) external onlyOwner {
        _setRecorder(recorder, isAllowed);
    }

    /// @notice Always reverts with OwnerRequired.
    function renounceOwnership() public view override onlyOwner {
        revert AccessWindow_OwnerRequired();
    }

    /// @inheritdoc IAccessWindow
    function isForwarder(address account) external view returns (bool) {
        return _forwarders[account];
    }

    /// @inheritdoc IAccessWindow
    function isRecorder(address account) external view returns (bool) {
        return _recorders[account];
    }

    function _setForwarder(address forwarder, bool isAllowed) internal {
        _forwarders[forwarder] = isAllowed;
        emit ForwarderSet(forwarder, isAllowed);
    }

    function _setRecorder(address recorder, bool isAllowed) internal {
        _recorders[recorder] = isAllowed;
        emit RecorderSet(recorder, isAllowed);
    }
}
